// Package programtest checks what users expect of every program, whatever it
// does: a test binary that is the program, wrong calls, help, the manifest.
//
//	func TestMain(m *testing.M) {
//		programtest.Main(m, func() { process.Main(run) })
//	}
//
//	func TestProgram(t *testing.T) {
//		child := programtest.Start(t, "--secure-port="+programtest.FreePort(t))
//		...
//		diagnostics := child.Terminate()
//	}
package programtest
