// Seconds the page has been open and in sight, those before it was loaded again included.

export function activeClock(before) {
  let total = 1000 * before;
  let since = document.hidden ? null : performance.now();
  const running = () => (since === null ? 0 : performance.now() - since);

  document.addEventListener("visibilitychange", () => {
    total += running();
    since = document.hidden ? null : performance.now();
  });
  return () => Math.round((total + running()) / 100) / 10;
}
