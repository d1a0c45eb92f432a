"""What a question read of an account, kept to be asked again without the account."""
