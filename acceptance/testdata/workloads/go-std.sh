# Go's own tests of packages that ask much of the system.
printf 'module example.org/m\n\ngo 1.21\n' > go.mod
#run
go test -short -count=1 os os/exec path/filepath 2>&1 | grep -E "^(--- FAIL|ok|FAIL)" | cut -f1,2
go test -short -count=1 net os/signal syscall internal/poll 2>&1 | cut -f1,2
