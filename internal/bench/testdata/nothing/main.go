// Nothing is what each program of Go costs before it does anything.
package main

func main() {}
