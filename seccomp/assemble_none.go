//go:build !linux || !cgo

package seccomp

import (
	"errors"

	"sandboxd/profile"
)

func assemble(Policy) ([]byte, []profile.Gap, error) {
	return nil, nil, errors.New("seccomp compile: this program was built without libseccomp; build for Linux with " +
		"CGO_ENABLED=1 and libseccomp-dev installed")
}
