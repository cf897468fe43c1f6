// Progressive enhancement: results as you type, and keys. Every page works without this file.
"use strict";
(() => {
  const box = document.getElementById("q");
  const form = document.getElementById("find");
  const AWAY = "The server does not answer; what is shown below may be old.";
  const WAIT = 140; // milliseconds without a further key before a search
  let timer = 0;
  let running = null;

  const results = () => document.getElementById("results");
  const hits = () => [...document.querySelectorAll(".hits > .hit")];

  function address(typing) {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) values.append(name, value);
    if (typing && box.value) values.set("prefix", "true");
    const text = values.toString();
    return form.action + (text ? "?" + text : "");
  }

  function mark(number) {
    const all = hits();
    all.forEach((each) => each.classList.remove("current"));
    const current = all.length ? Math.max(-1, Math.min(number, all.length - 1)) : -1;
    if (current >= 0) {
      all[current].classList.add("current");
      all[current].scrollIntoView({ block: "nearest" });
      all[current].querySelector("a").focus();
    } else {
      box.focus();
    }
  }

  async function load(asked, whole) {
    if (running) running.abort();
    const mine = (running = new AbortController());
    results().setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(asked, { signal: mine.signal, headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== running) return;
      const found = page.getElementById("results");
      if (!found) return location.assign(asked);
      results().replaceWith(document.adoptNode(found));
      if (whole) document.querySelector(".options").replaceWith(document.adoptNode(page.querySelector(".options")));
      document.title = page.title;
      document.getElementById("said").textContent = document.querySelector(".outcome").textContent;
      document.querySelector("footer").replaceWith(document.adoptNode(page.querySelector("footer")));
    } catch (fault) {
      // what is shown stays; the server may be back when the next key is pressed
      if (fault.name !== "AbortError") document.querySelector(".outcome").textContent = AWAY;
    } finally {
      results().removeAttribute("aria-busy");
    }
  }

  function search(typing) {
    clearTimeout(timer);
    const asked = address(typing);
    // typing replaces the entry of the history; what is sent with Enter, and what is chosen, is one of its own
    if (typing) history.replaceState({ rye: true }, "", asked);
    else history.pushState({ rye: true }, "", asked);
    load(asked, false);
  }

  if (results()) {
    box.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => search(true), WAIT);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      search(false);
    });
    document.addEventListener("change", (event) => {
      if (event.target.form === form && event.target !== box) search(false);
    });
    window.addEventListener("popstate", () => {
      box.value = new URLSearchParams(location.search).get("q") || "";
      load(location.pathname + location.search, true);
    });
  }

  // the parts of a score are fetched once somebody asks for them
  const unfold = async (fold) => {
    const asked = fold.dataset.why;
    if (!asked || !fold.open) return;
    delete fold.dataset.why;
    try {
      const answer = await fetch(asked);
      const shares = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".shares");
      if (shares) fold.querySelector("summary").after(document.adoptNode(shares));
    } catch {
      fold.dataset.why = asked; // opening it again asks again
    }
  };
  document.addEventListener("toggle", (event) => event.target.matches(".why") && unfold(event.target), true);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches("input, select, textarea") && event.target !== box;
    if (event.key === "/" && !event.target.matches("input, select, textarea")) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "Escape" && !typing) {
      if (document.activeElement === box && box.value) box.value = "";
      else if (document.activeElement === box) return box.blur();
      mark(-1);
      box.select();
      if (results() && !box.value) search(true);
      event.preventDefault();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && hits().length && !typing) {
      const step = event.key === "ArrowDown" ? 1 : -1;
      const current = hits().findIndex((each) => each.contains(document.activeElement));
      if (current < 0 && step < 0) return;
      event.preventDefault();
      mark(current + step);
    }
  });
})();
