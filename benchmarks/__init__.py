"""What the library is measured against: the paper's problems, peers side by side, speed, memory."""
