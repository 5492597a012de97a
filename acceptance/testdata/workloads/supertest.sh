# Express under supertest and mocha, from npm.
printf '{"name":"m","version":"1.0.0","scripts":{"test":"mocha --exit test.js"}}' > package.json; printf 'node_modules\n' > .gitignore
npm install --silent --no-fund --no-audit express@4 supertest@7 mocha@10
cat > test.js <<'T'
const request = require("supertest"), express = require("express"), app = express()
app.use(express.json()); app.post("/sum", (q, r) => r.json({sum: q.body.reduce((a, b) => a + b, 0)}))
describe("app", () => {
  it("sums", () => request(app).post("/sum").send([40, 2]).expect(200, {sum: 42}))
  it("lacks", () => request(app).get("/none").expect(404))
})
T
#run
npm test 2>&1 | grep -oE '[0-9]+ (passing|failing)'
