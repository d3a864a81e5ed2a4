"""Views for people: progress, pictures, the live page, the report, the command line."""
