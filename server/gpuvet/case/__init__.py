"""A case in, doors out: formats, recognition by content, archives, adapters."""
