package ask

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// code is the text that a person types as the second yes. It differs every time,
// so it cannot be typed ahead, pasted from before or given out of habit.
type code string

var firstWords = strings.Fields("amber brisk calm cedar clear coral crisp dusty early faint fresh frosty gentle " +
	"golden hollow humble " +
	"ivory jolly keen late lively lucky mellow misty narrow noble olive pale plain proud quiet rapid " +
	"rough rustic sandy sharp silent silver simple slow small smooth snowy solid steep still stormy subtle " +
	"sunny swift tall tender tidy tiny true vivid warm wide wild windy wise woven young zesty")

var secondWords = strings.Fields("anchor apple arrow badge basin beacon bell berry bridge brook button cabin candle " +
	"canoe castle cloud " +
	"compass copper cradle desert dragon drum eagle falcon feather fern forest garden glacier harbor hazel island " +
	"jacket jungle kettle ladder lantern lemon maple marble meadow mirror mountain needle oasis orchard otter paddle " +
	"pepper pillow planet pocket quarry raven ribbon river saddle shadow spruce tunnel turtle valley violin willow")

func newCode() code {
	return code(pick(firstWords) + " " + pick(secondWords))
}

func pick(list []string) string {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(list))))
	if err != nil {
		panic(err) // crypto/rand.Read never fails
	}
	return list[n.Int64()]
}

// matches reports whether line is the code; case and the blanks around it do
// not matter.
func (c code) matches(line string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(line), " "), string(c))
}
