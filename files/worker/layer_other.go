//go:build !linux

package worker

import (
	"errors"
	"os"
)

func (s *server) layer([]*os.File, LayerOrder) (*LayerAnswer, error) {
	return nil, errors.New("this system has no layers")
}
