cat commands.txt
