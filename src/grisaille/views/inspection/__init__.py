"""What people can look at: predictions, what was learned, what the gap rests on."""
