import { firstWaitMs, forgottenAfterMs, waitMaxMs } from './attempts.ts'

/**
 * Counts attempts in Redis by its clock, as `createAttempts` does in memory. KEYS[1] begins the name of each
 * key, ARGV are `begin` or `settle` and what is begun or settled.
 *
 *     <base>:<key>  a hash of how many were made and when the last one was
 */
export const attemptScript = `
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local list = cjson.decode(ARGV[2])

local function name(key) return KEYS[1] .. ':' .. key end

local function count(key)
  redis.call('hincrby', name(key), 'made', 1)
  redis.call('hset', name(key), 'last', now)
  redis.call('pexpire', name(key), ${forgottenAfterMs})
end

if ARGV[1] == 'begin' then
  local left = 0
  for _, need in ipairs(list) do
    local found = redis.call('hmget', name(need[1]), 'made', 'last')
    local beyond = (tonumber(found[1]) or 0) - need[2]
    if beyond >= 0 then
      local wait = math.min(${waitMaxMs}, ${firstWaitMs} * 2 ^ math.min(beyond, 10))
      left = math.max(left, tonumber(found[2]) + wait - now)
    end
  end
  if left > 0 then return left end
  for _, need in ipairs(list) do
    if need[3] > 0 then count(need[1]) end
  end
  return 0
end

for _, change in ipairs(list) do
  if change[2] == 1 then count(change[1])
  elseif change[2] == -1 then
    if redis.call('exists', name(change[1])) == 1 then
      redis.call('hincrby', name(change[1]), 'made', -1)
    end
  else redis.call('del', name(change[1])) end
end
return 0
`
