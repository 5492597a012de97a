# A pytest suite with a server and processes.
printf '__pycache__\n.pytest_cache\n' > .gitignore
cat > test_m.py <<'T'
import http.server, multiprocessing, threading, urllib.request

def test_server():
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f"http://127.0.0.1:{s.server_port}/test_m.py").status == 200
    s.shutdown()

def test_processes():
    with multiprocessing.Pool(2) as p:
        assert p.map(abs, [-1, 2]) == [1, 2]
T
#run
python3 -m pytest -q 2>&1 | grep -o '[0-9]* passed'
