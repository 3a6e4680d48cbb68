package journal

//go:generate go test . -run ^TestShapeOfState$ -update

// stateShape names the shape that State has in this source. It is part of the key of a
// snapshot: one that was written without a field of today lacks what the facts say of
// it, for good. `go generate` writes it here, since to find it out at each start was a
// twentieth of what `ralph status` takes; a test compares.
const stateShape = "ebdaeb666e11ad30be434f839eec036a"
