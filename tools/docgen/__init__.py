"""Write the generated parts of docs/, and the words of the command line, from the code."""
