mod sabotaged;
