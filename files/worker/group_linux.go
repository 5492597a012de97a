package worker

// groupOfFolder: a new file gets its folder's group (BSD), not its maker's.
const groupOfFolder = false
