import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

export type Option = {
  id: string
  text: string
  hint?: string | undefined
  /** More names by which the option is found. */
  words?: string | undefined
  /** Title of the group in which the option is listed; options of a group follow each other. */
  group?: string
  /** A picture in front of the text. */
  mark?: ComponentChildren
  /** A second line. */
  detail?: string
}

type Props<One extends Option> = {
  /** Label for screen readers. */
  label: string
  placeholder: string
  options: readonly One[]
  /** Id of the option that is active at first. */
  chosen?: string
  onPick: (option: One) => void
  /** Called with the text after each change. */
  onText?: (text: string) => void
  /** Number of options listed of each group, once a text is typed. */
  groupMax?: number
  /** Whether further options may follow. */
  isLoading?: boolean
}

/** A search field above the options that contain all of its words; the arrow keys and Enter pick one. */
export function SearchList<One extends Option>(props: Props<One>) {
  const { label, placeholder, options, chosen, onPick, onText, groupMax = Infinity } = props
  const [text, setText] = useState('')
  const [wanted, setWanted] = useState(() => options.findIndex(({ id }) => id === chosen))
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  const { shown, count } = foundIn(options, text, groupMax)
  const active = Math.max(0, Math.min(wanted, shown.length - 1))
  useEffect(() => field.current?.focus(), [])
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const option = shown[active]
    if (step !== undefined) setWanted((active + step + shown.length) % Math.max(shown.length, 1))
    else if (event.key !== 'Enter') return
    else if (option !== undefined) onPick(option)
    // Enter sends no form that the list lies in.
    event.preventDefault()
  }
  return (
    <div class="search-list">
      <input
        ref={field}
        role="combobox"
        aria-label={label}
        aria-expanded={shown.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${id}-${active}` : undefined}
        placeholder={placeholder}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget: { value } }) => {
          setText(value)
          setWanted(0)
          onText?.(value.trim())
        }}
        onKeyDown={press}
      />
      {shown.length > 0 && <Found {...{ id, label, shown, active, onPick }} />}
      <p class={shown.length > 0 ? 'hidden' : 'quiet'} role="status">
        {shown.length === 0 && (props.isLoading === true ? 'Searching…' : 'Nothing matches.')}
        {shown.length > 0 && `${count} ${count === 1 ? 'result' : 'results'}`}
        {shown.length < count && `, ${shown.length} of them listed`}
      </p>
    </div>
  )
}

/** Whether the option has all words of the text. */
export function matches(option: Option, asked: string) {
  const { id, text, hint = '', words = '', group = '', detail = '' } = option
  const names = `${id} ${text} ${hint} ${words} ${group} ${detail}`.toLowerCase()
  return asked
    .toLowerCase()
    .split(/\s+/)
    .every((word) => names.includes(word))
}

/** The options that match the text; in each group, those that begin with the text come first. */
function foundIn<One extends Option>(options: readonly One[], text: string, groupMax: number) {
  const asked = text.trim().toLowerCase()
  const found = options.filter((option) => matches(option, asked))
  const rankOf = (option: One) => {
    const title = option.text.toLowerCase()
    return title.startsWith(asked) ? 0 : title.includes(asked) ? 1 : 2
  }
  const shown = groupsOf(found).flatMap(([, own]) =>
    own
      .toSorted((one, other) => rankOf(one) - rankOf(other))
      .slice(0, asked === '' ? undefined : groupMax),
  )
  return { shown, count: found.length }
}

function groupsOf<One extends Option>(options: readonly One[]) {
  const names = new Set(options.map(({ group }) => group))
  return [...names].map((name) => [name, options.filter(({ group }) => group === name)] as const)
}

type FoundProps<One extends Option> = Pick<Props<One>, 'label' | 'onPick'> & {
  id: string
  shown: readonly One[]
  /** Index of the option that Enter picks. */
  active: number
}

function Found<One extends Option>({ id, label, shown, active, onPick }: FoundProps<One>) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() =>
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }),
  )
  const optionAt = (option: One) => {
    const index = shown.indexOf(option)
    return (
      <div
        key={option.id}
        id={`${id}-${index}`}
        role="option"
        aria-selected={index === active}
        // Keeps the focus in the field.
        onPointerDown={(event) => event.preventDefault()}
        onClick={() => onPick(option)}
      >
        {option.mark}
        <span>
          {option.text}
          {option.detail !== undefined && <span class="detail">{option.detail}</span>}
        </span>
        {option.hint !== undefined && <span class="quiet">{option.hint}</span>}
      </div>
    )
  }
  return (
    <div id={id} ref={list} role="listbox" aria-label={label}>
      {groupsOf(shown).map(([group, own]) =>
        group === undefined ? (
          own.map(optionAt)
        ) : (
          <div key={group} role="group" aria-label={group}>
            <p class="nav-group" aria-hidden="true">
              {group}
            </p>
            {own.map(optionAt)}
          </div>
        ),
      )}
    </div>
  )
}
