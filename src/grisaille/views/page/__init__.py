"""What people see in a browser: the live page over studies, and the report of one."""
