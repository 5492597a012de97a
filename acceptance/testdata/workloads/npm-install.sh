# A dependency added and installed twice from the registry, by the network in mode allowlist with the preset.
#config [network]
#config mode = "allowlist"
#config presets = ["node"]
printf '{"name":"m","version":"1.0.0"}' > package.json; printf 'node_modules\n' > .gitignore
#run
npm install --silent --no-fund --no-audit left-pad@1.3.0 && npm ls --parseable | wc -l && node -p 'require("left-pad")(4, 3, 0)'
npm ci --silent --no-fund --no-audit && npm ci --silent --no-fund --no-audit && npm ls --all | tail -2
