"""What a known operation can be over a region: intervals and planes."""
