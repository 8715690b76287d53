import { foundContent, foundIndex } from './anthropic-answers.ts'
import type { Refuse } from './anthropic-thinking.ts'
import { allowOnly } from './spoken.ts'

type Body = Record<string, unknown>

const invalid = 'invalid_request_error'
const searchFields = [
  'type',
  'name',
  'max_uses',
  'allowed_domains',
  'blocked_domains',
  'user_location',
  'cache_control',
]
const placeFields = ['type', 'city', 'region', 'country', 'timezone']

/** A search has its result, whose data the vendor wrote. */
export function checkSearches(blocks: Body[], where: string, refuse: Refuse): void {
  const searched = blocks.filter(({ type }) => type === 'server_tool_use').map(({ id }) => id)
  const found = blocks.filter(({ type }) => type === 'web_search_tool_result')
  if (String(searched) !== String(found.map(({ tool_use_id: id }) => id))) {
    refuse(`${where}: web_search tool use was found without a corresponding web_search_tool_result`)
  }
  for (const item of found.flatMap(({ content }) => content) as Body[]) {
    if (item['type'] === 'web_search_tool_result_error') continue
    if (item['encrypted_content'] !== foundContent(String(item['url']))) {
      refuse(`${where}: Invalid \`encrypted_content\` in \`search_result\` block`)
    }
  }
  for (const one of blocks.flatMap(({ citations = [] }) => citations) as Body[]) {
    if (one['type'] !== 'web_search_result_location') continue
    if (one['encrypted_index'] !== foundIndex(String(one['url']))) {
      refuse(`${where}: Invalid \`encrypted_index\``)
    }
  }
}

/** Refuses a tool that searches the web unless it is as the vendor takes it. */
export function checkSearchTool(tool: Body, refuse: Refuse): void {
  allowOnly(tool, searchFields, 'tools.0.web_search_20250305', invalid)
  if (tool['name'] !== 'web_search') refuse("tools.0.name: Input should be 'web_search'")
  if (Number(tool['max_uses'] ?? 1) < 1) refuse('tools.0.max_uses: greater than 0')
  if (tool['allowed_domains'] && tool['blocked_domains']) {
    refuse('Only one of allowed_domains and blocked_domains may be specified')
  }
  const place = tool['user_location'] ?? { type: 'approximate' }
  allowOnly(place, placeFields, 'tools.0.user_location', invalid)
  if (place['type'] !== 'approximate') refuse('tools.0.user_location.type')
}
