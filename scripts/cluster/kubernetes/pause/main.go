// The first process of a pod: it holds the pod's namespaces, and takes leave of orphans.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	// The kernel itself then buries what ends.
	signal.Ignore(syscall.SIGCHLD)
	<-told
}
