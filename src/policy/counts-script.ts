import { firstWaitMs, attemptsKeptMs, waitMaxMs } from './counts.ts'

/** A process that sends no heartbeat for this long counts as dead, and its calls as ended. */
const deadAfterMs = 15_000

/**
 * Runs `CountsOperation`s in Redis, in order and by the clock of Redis. KEYS[1] is the prefix of all keys. ARGV
 * are the process id, which is the prefix of its call ids, and the operations. Each window is read once and
 * written once per script. The script computes key names, so it needs a single server, not a cluster.
 *
 *     <base>:<window>       hash of the used points and the end of the window; expires then
 *     <base>:calls:<owner>  ids of running calls, by the end of their leases
 *     <base>:held:<process> owners of running calls of the process
 *     <base>:processes      ids of processes, by their last heartbeat
 *     <base>:attempts:<key> hash of the number of attempts and the time of the last one
 */
export const countsScript = `
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

local function add(key, window_ms, points)
  local one = window(key)
  if one.ends == 0 then one.ends = now + window_ms end
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

local function keep(key, ms)
  if redis.call('pttl', key) < ms then redis.call('pexpire', key, ms) end
end

local function begin(owner, call, ms)
  local key, held = base .. ':calls:' .. owner, base .. ':held:' .. process
  redis.call('zadd', key, now + ms, call)
  keep(key, ms)
  redis.call('sadd', held, owner)
  keep(held, ms)
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

local function append(answer, key)
  local one = window(key)
  answer[#answer + 1] = one.used
  answer[#answer + 1] = math.max(0, one.ends - now)
  answer[#answer + 1] = one.ends
end

local perform = {}

function perform.take(_, call, ms, window_ms, needed, owners)
  local fits = 1
  for _, need in ipairs(needed) do
    if need[3] > 0 and window(need[1]).used + need[3] > need[2] then fits = 0 end
  end
  for _, owner in ipairs(owners) do
    if calls(owner[1]) >= owner[2] then fits = 0 end
  end
  if fits == 1 then
    for _, need in ipairs(needed) do
      if need[3] > 0 then add(need[1], window_ms, need[3]) end
    end
    for _, owner in ipairs(owners) do begin(owner[1], call, ms) end
  end
  local answer = { fits }
  for _, need in ipairs(needed) do append(answer, need[1]) end
  for _, owner in ipairs(owners) do answer[#answer + 1] = calls(owner[1]) end
  return answer
end

perform['end'] = function(_, call, window_ms, settled, owners)
  for _, one in ipairs(settled) do
    if one[3] > 0 or window(one[1]).ends == one[2] then add(one[1], window_ms, one[3]) end
  end
  for _, owner in ipairs(owners) do stop(owner, call) end
  return {}
end

function perform.look(_, keys, owners)
  local answer = {}
  for _, key in ipairs(keys) do append(answer, key) end
  for _, owner in ipairs(owners) do answer[#answer + 1] = calls(owner) end
  return answer
end

function perform.attempt(_, needed)
  local left = 0
  for _, need in ipairs(needed) do
    local found = redis.call('hmget', base .. ':attempts:' .. need[1], 'made', 'last')
    local beyond = (tonumber(found[1]) or 0) - need[2]
    if beyond >= 0 and found[2] then
      local wait = math.min(${waitMaxMs}, ${firstWaitMs} * 2 ^ math.min(beyond, 10))
      left = math.max(left, tonumber(found[2]) + wait - now)
    end
  end
  if left > 0 then return { left } end
  for _, need in ipairs(needed) do
    local key = base .. ':attempts:' .. need[1]
    redis.call('hincrby', key, 'made', 1)
    redis.call('hset', key, 'last', now)
    redis.call('pexpire', key, ${attemptsKeptMs})
  end
  return { 0 }
end

function perform.settle(_, changes)
  for _, change in ipairs(changes) do
    local key = base .. ':attempts:' .. change[1]
    if change[2] == 'forget' then redis.call('del', key)
    elseif redis.call('exists', key) == 1 then redis.call('hincrby', key, 'made', -1) end
  end
  return {}
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
