# The tests of a published Go module, cobra, with its dependencies from the person's cache.
go mod init -q example.org/m 2>/dev/null || printf 'module example.org/m\n\ngo 1.21\n' > go.mod
go get github.com/spf13/cobra@v1.8.1 2>/dev/null && d=$(go list -m -f '{{.Dir}}' github.com/spf13/cobra) && rm go.mod go.sum
cp -r $d/. . && chmod -R u+w . && rm -rf .github && go mod download
#run
go vet ./... && go test -count=1 ./... | cut -f1,2
go test -list . . | grep '^Test' | sort | sha256sum
