import type { ComponentChildren } from 'preact'

type Column =
  | string
  | {
      title: ComponentChildren
      class?: string | undefined
      'aria-sort'?: 'ascending' | 'descending' | undefined
    }

type Props = {
  /** What its rows are. */
  label: string
  columns: readonly Column[]
  class?: string
  caption?: string
  /** The rows below the line. */
  foot?: ComponentChildren
  children: ComponentChildren
}

/** A table, which scrolls in a box of its own where it is wider than its page. */
export function Table({ label, columns, class: name, caption, foot, children }: Props) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table class={name}>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map((column, index) => {
              const { title, ...attributes } = columnOf(column)
              return (
                <th key={index} scope="col" {...attributes}>
                  {title}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
        {foot !== undefined && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  )
}

function columnOf(column: Column): Exclude<Column, string> {
  return typeof column === 'string' ? { title: column } : column
}

/** A column of numbers. */
export function numbers(title: string): Column {
  return { title, class: 'number' }
}

/** The column of what can be done with each. */
export const acts: Column = { title: <span class="hidden">What can be done</span> }
