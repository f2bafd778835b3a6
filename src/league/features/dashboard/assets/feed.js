// The feed of a league: one connection for all pages of a browser, which opens no more than six to a manager. It runs as
// a shared worker; where there is none, in the page itself. A page asks for what comes after its position, or leaves.
(function (scope) {
  "use strict";
  const RETRY_MS = 3000;
  const readers = new Set();
  let source = null;
  let position = "";
  let isLive = false;
  let retry = 0;

  function tell(message) {
    for (const one of readers) one.postMessage(message);
  }

  function open() {
    close();
    source = new EventSource("/api/events?after=" + encodeURIComponent(position));
    source.onopen = () => tell({ isLive: (isLive = true) });
    source.onmessage = (event) => {
      position = event.lastEventId;
      tell({ position, frame: event.data });
    };
    source.onerror = () => {
      close();
      tell({ isLive });
      retry = setTimeout(open, RETRY_MS);
    };
  }

  function close() {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
    isLive = false;
  }

  // A frame may be shown twice, but none may be missed: all go on from where the last of them is.
  function follow(port, from) {
    const [origin, number] = from.split("-");
    const [known, reached] = position.split("-");
    const isFirst = readers.size === 0;
    readers.add(port);
    if (isFirst) position = from;
    else if (origin !== known) position = "";
    else if (Number(number) < Number(reached)) position = from;
    else if (source) return port.postMessage({ isLive });
    open();
  }

  function serve(port) {
    port.onmessage = ({ data }) => {
      if (data.from) return follow(port, data.from);
      readers.delete(port);
      if (!readers.size) close();
    };
  }

  if (scope.document) {
    scope.feedPort = () => {
      if (scope.SharedWorker) return new SharedWorker("/assets/feed.js").port;
      const { port1, port2 } = new MessageChannel();
      serve(port1);
      return port2;
    };
  } else {
    scope.onconnect = (event) => serve(event.ports[0]);
  }
})(self);
