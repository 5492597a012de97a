# Headless Chromium against a server of the same line.
echo '<title>t</title><p id=a></p><script>a.textContent = 6 * 7</script>' > index.html
#run
python3 -m http.server 8123 > server.log 2>&1 & sleep 2; chromium --headless --no-sandbox --disable-gpu --dump-dom http://127.0.0.1:8123/ 2> browser.log | grep -o '>42<'; kill $!
