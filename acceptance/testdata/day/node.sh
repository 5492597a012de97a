mkdir -p src test node_modules/.bin node_modules/left && printf 'node_modules\ndist\n' > .gitignore
printf '{"name":"m","version":"1.0.0","scripts":{"test":"node --test","build":"node build.mjs","dev":"node dev.mjs","start":"node dev.mjs"}}' > package.json
printf 'export function add(a, b) {\n  return a + b\n}\n' | tee src/add.ts > src/main.ts; touch vite.config.ts
printf '{"name":"m","lockfileVersion":3,"packages":{}}' > package-lock.json
printf 'import test from "node:test"\ntest("adds", () => {})\n' > test/add.test.mjs
printf 'import fs from "node:fs"\nfs.mkdirSync("dist", {recursive: true}); fs.writeFileSync("dist/m.js", "1")\n' > build.mjs
printf 'import http from "node:http"\nhttp.createServer((q, r) => r.end("ok")).listen(5173)\n' > dev.mjs
for tool in tsc eslint vitest; do
printf '#!/usr/bin/env node\nconsole.log("ok")\n' > node_modules/.bin/$tool; chmod +x node_modules/.bin/$tool
done
