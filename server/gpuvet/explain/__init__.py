"""What a code or a line means, for people: values and their wording."""
