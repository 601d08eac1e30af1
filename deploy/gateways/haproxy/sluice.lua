-- Asks Sluice about a request that HAProxy holds; leaves the answer in txn.sluice_*.
-- A plain socket, not the built-in HTTP client: that one asks again by itself when it must wait, and
-- each time is counted.
local HOST, PORT, TIMEOUT_S = "127.0.0.1", 7080, 0.25

-- No byte of the client's may end a header field.
local function field(text)
  return (tostring(text or ""):gsub("%c", ""))
end

local function read_answer(txn, socket)
  local line = socket:receive("*l")
  local status = line and tonumber(line:match("^HTTP/1%.%d (%d+)"))
  while status do
    local name, value = (socket:receive("*l") or ""):match("^([%w%-]+):%s*(.-)%s*$")
    if not name then break end
    name = name:lower()
    if name == "ratelimit" or name == "ratelimit-policy" or name == "retry-after" then
      txn:set_var("txn.sluice_" .. name:gsub("-", "_"), value)
    end
  end
  return status or 0
end

local function ask_sluice(txn)
  local socket = core.tcp()
  local status = 0
  socket:settimeout(TIMEOUT_S)
  if socket:connect(HOST, PORT) then
    socket:send("GET /v1/auth HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n" ..
      "X-Sluice-Key: " .. field(txn.sf:src()) .. "\r\n" ..
      "X-Forwarded-Method: " .. field(txn.sf:method()) .. "\r\n" ..
      "X-Forwarded-Uri: " .. field(txn.sf:path()) .. "\r\n\r\n")
    status = read_answer(txn, socket)
  end
  socket:close()
  txn:set_var("txn.sluice_status", status)
end

core.register_action("ask_sluice", { "http-req" }, ask_sluice)
