# A Node test suite with a server, and a start script in the background of one line.
printf '{"name":"m","version":"1.0.0","type":"module","scripts":{"test":"node --test","start":"node server.js"}}' > package.json
cat > server.js <<'T'
import http from "node:http"
http.createServer((q, r) => r.end("up")).listen(31873, "127.0.0.1")
T
cat > server.test.js <<'T'
import test from "node:test"
import assert from "node:assert"
import http from "node:http"
test("answers", async () => {
  const s = http.createServer((q, r) => r.end("hi"))
  await new Promise(done => s.listen(0, done))
  const r = await fetch(`http://127.0.0.1:${s.address().port}`)
  assert.equal(await r.text(), "hi")
  s.close()
})
T
#run
npm test 2>&1 | grep -E '^(#|ℹ) (pass|fail)'
timeout 6 node server.js > server.log 2>&1 & sleep 3; curl -s http://127.0.0.1:31873; wait
