mkdir -p app tests scripts && echo 'echo ok' > scripts/check.sh && touch app/__init__.py
printf '[project]\nname = "m"\nversion = "1"\n' > pyproject.toml; touch requirements.txt
printf 'def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n' > app/core.py
printf 'import http.server\nhttp.server.test(port=8000)\n' > app/web.py
printf 'import unittest\nfrom app.core import add\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        assert add(2, 3) == 5\n' > tests/test_core.py
printf 'import sys\nprint(sys.argv)\n' > manage.py; printf 'import app.core\n' > reproduce.py
