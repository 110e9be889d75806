// Package browser shows pages of package htmlpage in headless Chromium, for
// tests. It is not for other programs.
//
//	b := browser.Start(t)
//	b.Open(file)
//	b.RequireDrawn(3)
//	b.RequireNoFaults(file)
//
// Chromium is named by LIFECYCLE_BROWSER, as .ci/browser does. Without it a
// test is skipped. LIFECYCLE_BROWSER_SHOTS names a folder for pictures.
//
// Exceptions are faults, and so are errors in the log, lines on the console and
// requests for anything but the page.
package browser
