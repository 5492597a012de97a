package profile_test

import (
	"os"
	"testing"

	"sandboxd/internal/rapidtest"
)

func TestMain(m *testing.M) {
	rapidtest.Default(2000)
	os.Exit(m.Run())
}
