"""Who evaluates: this process, a child process, a program."""
