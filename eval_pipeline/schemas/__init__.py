"""Every format that is read or written, as JSON Schema."""
