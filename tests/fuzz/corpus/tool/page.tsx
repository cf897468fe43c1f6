	// Say hello
export function Page() { return <div a="}">{x /* c */}</div>; }
require("./x")
