//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// Place has the resources that the sandboxes of one session share; there is none here.
type Place struct{}

// NoPlaces returns why sandboxes can share no place here.
func (h *Host) NoPlaces() string { return "there are no network namespaces here" }

// NewPlace returns a place that no plan can join.
func (h *Host) NewPlace(string) *Place { return &Place{} }

// Join refuses.
func (p *Plan) Join(context.Context, *Place, bool, ...string) (*Plan, error) {
	return nil, errors.New("there are no network namespaces here")
}

// Empty does nothing.
func (at *Place) Empty() {}

// Close does nothing.
func (at *Place) Close() {}
