/** A process that has not said for so long that it is there is dead, and so are its calls. */
const deadAfterMs = 15_000
/** How long a window lasts that a call begins. */
const windowMs = 60_000

/**
 * Carries out `LimitOperation`s in Redis, one after the other and by its clock. KEYS[1] begins the name
 * of each key, ARGV are the process that asks, which begins the ids of its calls, and the operations.
 * Windows are read once and written once for all of them. Names are made from what is asked: this is
 * for one server, no cluster.
 *
 *     <base>:<window>       a hash of what is used and when the window ends, until then
 *     <base>:calls:<owner>  ids of the calls under way, by when they end at the latest
 *     <base>:held:<process> owners of whom the process has calls under way
 *     <base>:processes      those that are there, by when they last said so
 */
export const limitScript = `
local base, process = KEYS[1], ARGV[1]
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local windows, running = {}, {}

local function window(key)
  if windows[key] then return windows[key] end
  local found = redis.call('hmget', base .. ':' .. key, 'used', 'ends')
  local used, ends = tonumber(found[1]) or 0, tonumber(found[2]) or 0
  if ends <= now then used, ends = 0, 0 end
  windows[key] = { used = used, ends = ends }
  return windows[key]
end

local function add(key, points)
  local one = window(key)
  if one.ends == 0 then one.ends = now + ${windowMs} end
  one.used = math.max(0, one.used + points)
  one.changed = true
end

local function calls(owner)
  if running[owner] then return running[owner] end
  local key = base .. ':calls:' .. owner
  redis.call('zremrangebyscore', key, '-inf', now)
  running[owner] = redis.call('zcard', key)
  return running[owner]
end

local function last(key, ms)
  if redis.call('pttl', key) < ms then redis.call('pexpire', key, ms) end
end

local function begin(owner, call, ms)
  local key, held = base .. ':calls:' .. owner, base .. ':held:' .. process
  redis.call('zadd', key, now + ms, call)
  last(key, ms)
  redis.call('sadd', held, owner)
  last(held, ms)
  running[owner] = calls(owner) + 1
end

local function stop(owner, call)
  running[owner] = calls(owner) - redis.call('zrem', base .. ':calls:' .. owner, call)
end

local function bury(dead)
  local held = base .. ':held:' .. dead
  for _, owner in ipairs(redis.call('smembers', held)) do
    for _, call in ipairs(redis.call('zrange', base .. ':calls:' .. owner, 0, -1)) do
      if string.sub(call, 1, #dead + 1) == dead .. ':' then stop(owner, call) end
    end
  end
  redis.call('del', held)
  redis.call('zrem', base .. ':processes', dead)
end

local function tell(answer, key)
  local one = window(key)
  answer[#answer + 1] = one.used
  answer[#answer + 1] = math.max(0, one.ends - now)
  answer[#answer + 1] = one.ends
end

local perform = {}

function perform.take(_, call, ms, needed, owners)
  local fits = 1
  for _, need in ipairs(needed) do
    if need[3] > 0 and window(need[1]).used + need[3] > need[2] then fits = 0 end
  end
  for _, owner in ipairs(owners) do
    if calls(owner[1]) >= owner[2] then fits = 0 end
  end
  if fits == 1 then
    for _, need in ipairs(needed) do
      if need[3] > 0 then add(need[1], need[3]) end
    end
    for _, owner in ipairs(owners) do begin(owner[1], call, ms) end
  end
  local answer = { fits }
  for _, need in ipairs(needed) do tell(answer, need[1]) end
  for _, owner in ipairs(owners) do answer[#answer + 1] = calls(owner[1]) end
  return answer
end

perform['end'] = function(_, call, settled, owners)
  for _, one in ipairs(settled) do
    if one[3] > 0 or window(one[1]).ends == one[2] then add(one[1], one[3]) end
  end
  for _, owner in ipairs(owners) do stop(owner, call) end
  return {}
end

function perform.look(_, keys, owners)
  local answer = {}
  for _, key in ipairs(keys) do tell(answer, key) end
  for _, owner in ipairs(owners) do answer[#answer + 1] = calls(owner) end
  return answer
end

function perform.beat()
  local processes = base .. ':processes'
  redis.call('zadd', processes, now, process)
  redis.call('pexpire', processes, ${4 * deadAfterMs})
  local dead = redis.call('zrangebyscore', processes, '-inf', now - ${deadAfterMs})
  for _, one in ipairs(dead) do bury(one) end
  return { redis.call('zcard', processes) }
end

function perform.leave()
  bury(process)
  return { redis.call('zcard', base .. ':processes') }
end

local answers = {}
for index, operation in ipairs(cjson.decode(ARGV[2])) do
  answers[index] = perform[operation[1]](unpack(operation))
end
for key, one in pairs(windows) do
  if one.changed then
    redis.call('hset', base .. ':' .. key, 'used', one.used, 'ends', one.ends)
    redis.call('pexpireat', base .. ':' .. key, one.ends)
  end
end
return answers
`
