//go:build !linux

package modes

import (
	"os"
	"sync"
)

var bind = sync.OnceValue(func() bool { return os.Geteuid() != 0 })
