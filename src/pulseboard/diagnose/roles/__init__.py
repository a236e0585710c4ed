"""roles: tags in, what each of them is out. Names propose, values dispose; doubt is reported."""
