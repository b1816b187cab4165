"""The words of pages and documents, each with its meaning and its source."""
