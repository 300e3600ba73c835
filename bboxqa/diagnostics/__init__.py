"""Who, what and where: what lowers agreement, and who is alike."""
