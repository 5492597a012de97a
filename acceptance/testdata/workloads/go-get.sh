# A dependency added, verified and built, by the network in mode allowlist with the preset.
#config [network]
#config mode = "allowlist"
#config presets = ["go"]
printf 'module example.org/m\n\ngo 1.21\n' > go.mod
printf 'package main\n\nimport "github.com/google/uuid"\n\nfunc main() { println(len(uuid.NewString())) }\n' > main.go
#run
go get github.com/google/uuid@v1.6.0 2>/dev/null && go mod verify && go run . 2>&1
go mod tidy && go list -m all && go build -o m . && ./m 2>&1
