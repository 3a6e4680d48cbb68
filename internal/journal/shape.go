package journal

// It is found out when ralph is built, not at each start of `ralph status`: that took it a twentieth of its time.
//
//go:generate go test . -run ^TestShapeOfState$ -update

// stateShape names the shape that State has in this build. It is part of the key of a
// snapshot: one that was written without a field of today lacks what the facts say of
// it, for good.
const stateShape = "81dcab35b66efca95648db12d71846b6"
