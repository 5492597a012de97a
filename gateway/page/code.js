// The second yes: two words that differ every time, so that they can't be typed ahead or given out of habit.

const first = "amber brisk calm cedar clear coral crisp dusty early frosty gentle golden humble ivory jolly mellow misty narrow noble olive plain proud quiet rapid sandy silver solid steep sunny tidy vivid young".split(" ");
const second = "anchor apple arrow badge basin beacon berry bridge button cabin candle canoe castle copper desert dragon eagle falcon feather garden harbor island jacket kettle lantern lemon maple meadow mirror needle orchard willow".split(" ");

const pick = (list) => list[crypto.getRandomValues(new Uint32Array(1))[0] % list.length];

/** twoWords makes them. */
export const twoWords = () => `${pick(first)} ${pick(second)}`;
