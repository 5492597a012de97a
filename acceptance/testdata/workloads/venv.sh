# A virtual environment and a package of the project's own in it.
mkdir -p pkg && echo 'answer = 42' > pkg/__init__.py; printf '.venv\n__pycache__\n' > .gitignore
#run
python3 -m venv --without-pip .venv && . .venv/bin/activate && python -c 'import pkg, sys; print(pkg.answer, sys.prefix != sys.base_prefix)'
