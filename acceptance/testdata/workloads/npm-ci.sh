# npm ci twice, of a package beside it.
mkdir -p dep && printf '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json && echo 'module.exports = 42' > dep/i.js
printf '{"name":"m","version":"1.0.0","dependencies":{"dep":"file:dep"}}' > package.json
printf 'node_modules\n' > .gitignore
npm install --silent --offline --package-lock-only
#run
npm ci --silent --offline && npm ci --silent --offline && node -p 'require("dep")' && npm ls --parseable | wc -l
