# A dependency that the person's module cache has: added, verified and built.
printf 'module example.org/m\n\ngo 1.21\n' > go.mod
printf 'package main\n\nimport "github.com/google/uuid"\n\nfunc main() { println(len(uuid.NewString())) }\n' > main.go
(mkdir /tmp/m.$$ && cd /tmp/m.$$ && go mod init m 2> /dev/null && go mod download github.com/google/uuid@v1.6.0 && rm -r /tmp/m.$$)
#run
go get github.com/google/uuid@v1.6.0 2>/dev/null && go mod verify && go run . 2>&1
go mod tidy && go list -m all && go build -o m . && ./m 2>&1
